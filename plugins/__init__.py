"""The learners and monitors that come with onlinekit; one folder a family."""
